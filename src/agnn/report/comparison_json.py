"""Compared tables as plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agnn.experiments import ComparedCell, ComparedRow, Comparison, PaperFigure
    from agnn.metrics import Summary


def comparison_values(comparison: Comparison, command: str) -> dict[str, Any]:
    """A compared table with all it depends on."""
    table, making = comparison.table, comparison.making
    return {
        "name": table.name,
        "place": table.place,
        "title": table.title,
        "command": command,
        "tolerance": table.tolerance,
        "notes": list(table.notes),
        "columns": [column.title for column in table.columns],
        "rows": [_row(row) for row in comparison.rows],
        "runs": making.runs,
        "seconds": making.seconds,
        "devices": list(making.devices),
        "versions": list(making.versions),
    }


def _row(compared: ComparedRow) -> dict[str, Any]:
    row = compared.row
    return {
        "title": row.title,
        "group": row.group,
        "method": row.method,
        "configuration": row.configuration,
        "hyper_parameters_changed": dict(row.fields),
        "absence": compared.absence,
        "notes": list(row.notes),
        "method_note": compared.method_note,
        "cells": [_cell(cell) for cell in compared.cells],
    }


def _cell(cell: ComparedCell) -> dict[str, Any]:
    return {
        "paper": _figure(cell.paper),
        "ours": _summary(cell.ours),
        "honest": _summary(cell.beside),
        "difference": cell.difference,
        "verdict": cell.verdict,
        "references": [
            {"source": each.source, "figure": _figure(each.figure), "verdict": each.verdict}
            for each in cell.references
        ],
    }


def _figure(figure: PaperFigure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {"printed": figure.printed, "mean": figure.mean, "standard_error": figure.error}


def _summary(summary: Summary | None) -> dict[str, Any] | None:
    return None if summary is None else summary.to_dict()
