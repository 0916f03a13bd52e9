"""Every slip in a table file is named with its file and key."""

from __future__ import annotations

import pytest
from small_tables import SMALL, small_table

from agnn.errors import DataError
from agnn.studies import Drawing, PaperFigure
from agnn.studies._reading import read_experiment, read_experiment_file


def test_a_table_is_what_its_file_says():
    table = small_table()
    assert (table.name, table.title, table.place, table.seeds) == ("small", "Small", "Test", 3)
    assert [column.dataset for column in table.columns] == ["cora", "citeseer"]
    assert table.rows[0].figures == (PaperFigure("83.1 ± 0.08", 83.1, 0.08), None)
    assert dict(table.rows[0].fields) == {"epochs": 3}
    assert table.rows[1].figures == (None, PaperFigure("70.0", 70.0, None))
    assert (table.tolerance, table.source, table.digits) == (0.4, "runs", 2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds = 3", "sedes = 3", r"small.toml: unknown key `sedes`; did you mean `seeds`\?"),
        ("fields =", "feilds =", r"small.toml, rows\[0\]: unknown key `feilds`"),
        (
            'dataset = "cora"',
            'dataset = "coora"',
            r"columns\[0\]: `dataset` is 'coora', which is",
        ),
        ('dataset = "cora"', "", r"rows\[0\]: 'AGNN' has no `dataset` under 'Cora'"),
        ("seeds = 3", "seeds = 0", "`seeds` must be at least 1; got 0"),
        ("seeds = 3", 'seeds = "3"', "`seeds` must be a whole number; got '3'"),
        ("seeds = 3", "seeds = true", "`seeds` must be a whole number; got True"),
        ("seeds = 3", "tolerance = -1.0", "`tolerance` must be at least 0; got -1.0"),
        ('title = "Small"', "", "small.toml: `title` is missing"),
        ('["83.1 ± 0.08", ""]', '["83.1"]', r"rows\[0\]: `paper` has 1 figures for 2 columns"),
        ("83.1 ± 0.08", "about 83", r"`paper` 'about 83' is not a figure"),
        ('["", "70.0"]', '["", 70.0]', "`paper` must be a list of texts"),
        ('method = "agnn"', "", "'AGNN' needs a `method`"),
        ("seeds = 3", "tolerance = inf", "`tolerance` must be a finite number; got inf"),
        ("seeds = 3", 'notes = ["a", 3]', "small.toml: `notes` must be a text; got 3"),
        ("seeds = 3", "notes = 3", "small.toml: `notes` must be a list; got 3"),
        ("{ epochs = 3 }", "3", r"small.toml, rows\[0\]: `fields` must be a table; got 3"),
        ("seeds = 3", 'name = "x"', "small.toml: unknown key `name`; an experiment goes by"),
        (
            'method = "agnn"',
            'method = "agnn"\nreferences = [{ source = "K", figuers = [] }]',
            r"small.toml, rows\[0\], references\[0\]: (`figures` is missing|unknown key `figuers`)",
        ),
        (
            "seeds = 3",
            'source = "air"',
            "`source` is 'air', which is unknown; known: 'runs', ",
        ),
        ('method = "agnn"', 'method = "agnn"\nconfiguration = "good"', "`configuration` is 'good'"),
        ("[[rows]]", "[[rows", "'small.toml' is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_file_and_key(old, new, said):
    assert old in SMALL
    with pytest.raises(DataError, match=said):
        small_table(SMALL.replace(old, new, 1))


def test_a_figure_has_panels():
    text = """
    title = "F"
    kind = "relevance"
    [[panels]]
    dataset = "cora"
    title = "Cora"
    layer = 2
    """
    drawing = read_experiment("f", text, "f.toml")
    assert isinstance(drawing, Drawing)
    assert [(panel.dataset, panel.layer) for panel in drawing.panels] == [("cora", 2)]
    with pytest.raises(DataError, match=r"panels\[0\]: unknown key `layer`"):
        read_experiment("f", text.replace("relevance", "neighbourhoods") + "count = 2", "f.toml")
    with pytest.raises(DataError, match="`kind` is 'pie', which is unknown"):
        read_experiment("f", text.replace("relevance", "pie"), "f.toml")


def test_a_file_of_ones_own_goes_by_its_name(tmp_path):
    (tmp_path / "mine.toml").write_text(SMALL, encoding="utf-8")
    assert read_experiment_file(tmp_path / "mine.toml").name == "mine"
    with pytest.raises(DataError, match=r"cannot read '.*none\.toml'"):
        read_experiment_file(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"cannot read '.*bytes\.toml'"):
        read_experiment_file(tmp_path / "bytes.toml")
