"""NodeClassifier: any method of the package as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.decisions import AskedNodes, calibrate_novelty, calibrate_sets
from agnn.errors import InputError, ResultWarning
from agnn.estimator._inputs import (
    class_labels,
    graph_of_arrays,
    ids_in,
    labelled_at,
    positions,
    with_columns,
)
from agnn.methods import Method
from agnn.metrics import Calibration, Ensemble, Summary
from agnn.progress import TrainingProgress, training_progress
from agnn.runs import Predictions, Run, Training, evaluate, load_run

_NOTES: Final = "node_classifier"  # the key of what a saved classifier adds to its run
_NESTED: Final = "method__"  # scikit-learn's prefix of the parameters of the argument `method`


@contextmanager
def _progress(verbose: bool | None) -> Iterator[TrainingProgress | None]:
    """What shows progress; None where nobody is to see it, as in a worker of a grid search."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    is_watched = (console.is_terminal or console.is_jupyter) and parent_process() is None
    if verbose is False or (verbose is None and not is_watched):
        yield None
        return
    with training_progress(console) as progress:
        yield progress


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify the nodes of a graph by an ensemble of trained replicas.

    `fit` takes a NodeData, or features `X` [n, d_x], labels `y` [n] (-1, NaN, None or "" for
    unlabelled nodes) and `edges` [2, k]. With `graph` set, `X` are indices of its nodes and `y`
    their labels, so that grid searches and cross-validation split nodes. For how labelled nodes
    train, choose the epoch and measure the accuracy see `split`.

    Args:
        method: the name of a registered method (see `agnn.method_names()`), whose hyper-parameters
            then suit the data: the paper's on its datasets. Or a method such as
            `agnn.networks.GCN(hidden=32)`, which is used as it is. None: AGNN on the datasets of
            the paper; on any other graph AGNN+, unless held-out labels clearly prefer another
            method. "auto": chosen from many, with its settings, by held-out labels. `run_.choice`
            says what was tried and by how much it won.
        parameters: hyper-parameters of the method to change, by name, such as `{"hidden": 32}`;
            see `agnn methods NAME`. None is the same as leaving one out; the text "none" is the
            value None. In `set_params` and in a grid search `method__hidden` is the entry
            `hidden`, whether `method` is a name, an object or None.
        replicas: number of models in the ensemble; with a k-fold `split`, k times as many.
            Cross-fitting has one per fold, at least three. None: 10, or cross-fitted 5 where an
            epoch takes long.
        split: a split's name as in `agnn train`, or a Split; None: the data's own, else
            "cross-fit": every model trains on all labels but one fold, and every label is tested
            by a model that was not trained on it.
        seed: the first replica's seed; the others count on from it.
        class_weight: None, "balanced", or a weight for each class.
        metric: by which epochs and settings are chosen on validation nodes: "accuracy",
            "balanced_accuracy", "f1", "auc" or "log_loss"; None: the method's own rule.
        time_limit: for method="auto": seconds, or a text such as "5m"; None: ten minutes.
        device: "auto", "cpu" or "cuda".
        backend: "auto", "reference", "numba" or "triton".
        graph: the graph that indices `X` point into.

    Attributes:
        classes_: [c] the classes: values of `y`, or of the label column in a NodeData's source.
        run_: the trained Run: splits, seeds, model, scores; `run_.warnings` says where it is
            no better than a cheap baseline.
        accuracy_: percent of test nodes for each replica (with folds, each trial), with its mean
            and standard error.
        calibration_: the ensemble on test nodes: accuracy, temperature, calibration error.

    See Also:
        agnn.evaluate: the same without scikit-learn's contract.

    Examples:
        >>> import agnn
        >>> cora = agnn.load_dataset("cora")
        >>> model = agnn.NodeClassifier("gcn", parameters={"epochs": 5}, replicas=2).fit(cora)
        >>> model.predict().shape, model.predict_proba().shape
        ((2708,), (2708, 7))
        >>> model.set_params(method__hidden=32).parameters
        {'epochs': 5, 'hidden': 32}
    """

    def __init__(
        self,
        method: str | Method | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        replicas: int | None = None,
        split: str | Split | None = None,
        seed: int = 0,
        class_weight: str | Mapping[Any, float] | None = None,
        metric: str | None = None,
        time_limit: str | float | None = None,
        device: str = "auto",
        backend: str = "auto",
        graph: NodeData | None = None,
    ) -> None:
        self.method = method
        self.parameters = parameters
        self.replicas = replicas
        self.split = split
        self.seed = seed
        self.class_weight = class_weight
        self.metric = metric
        self.time_limit = time_limit
        self.device = device
        self.backend = backend
        self.graph = graph

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments; if `deep`, also `method__NAME` per parameter."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.parameters, Mapping):  # `fit` refuses anything else
            params |= {_NESTED + name: value for name, value in self.parameters.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor; `method__NAME` sets one entry of `parameters`.

        Names of hyper-parameters are checked by `fit`, which knows the method.
        """
        nested = {name for name in params if name.startswith(_NESTED)}
        super().set_params(**{name: params[name] for name in params.keys() - nested})
        if nested:  # a new mapping: the present one is the caller's, or a clone's as well
            changes = {name.removeprefix(_NESTED): params[name] for name in sorted(nested)}
            self.parameters = {**(self.parameters or {}), **changes}
        return self

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
        times: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        verbose: bool | None = None,
    ) -> Self:
        """Train on the labelled nodes; the others take part as neighbours.

        `edge_weight` has one number above 0 per edge; an edge that is given several times or in
        both directions has the mean.
        With `times`, one per node or per index in `X`, the model is trained on the past and tested
        on the latest nodes; with `groups` no group is both trained and tested on. Both are for
        `split=None`, "time" or "group".

        With `verbose` progress is shown on standard error, or in the notebook cell: the best score
        so far, its epoch, and when the training will stop. An `agnn.errors.ResultWarning` is issued
        for each entry of `run_.warnings`, such as a baseline that is as good. None shows progress
        in a terminal or a notebook only; with `graph` set, as grid searches have it, None is False.
        """
        if verbose is None and self.graph is not None:
            verbose = False  # the comparison with baselines would take longer than many a fit
        if not isinstance(self.parameters, Mapping | None):
            raise InputError(
                f"`parameters` are hyper-parameters by name, such as {{'hidden': 32}}; got "
                f"{self.parameters!r}."
            )
        data = self._training_data(X, y, edges, edge_weight)
        data = with_columns(data, self.graph, X, times=times, groups=groups)
        data.check_learnable()
        weight: Any = self.class_weight
        if isinstance(weight, Mapping):
            names = dict(zip(self.classes_.tolist(), data.class_names, strict=True))
            weight = {names.get(key, str(key)): value for key, value in weight.items()}
        replicas = self.replicas
        if replicas is None:
            replicas = Training.usual_replicas(data, self.split)
        with _progress(verbose) as progress:
            self.run_: Run = evaluate(
                self.method,
                data,
                self.split,
                progress=progress,
                replicas=replicas,
                seed=self.seed,
                changes=self.parameters,
                device=self.device,
                backend=self.backend,
                class_weight=weight,
                metric=self.metric,
                time_limit=self.time_limit,
            )
        if verbose is not False:
            for message in self.run_.warnings:
                warnings.warn(message, ResultWarning, stacklevel=2)
        return self

    def predict(
        self,
        X: Any = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return the predicted class of every node of `X`; without `X`, of the training data; [n].

        `X` is a NodeData, what `fit` takes, or a list of ids of nodes of the training data: their
        rows where `fit` took arrays. For new nodes of the same graph see `predict_new`.
        """
        classes = self.ensemble(X, edges=edges, edge_weight=edge_weight).answers
        return np.asarray(self.classes_[classes])

    def predict_new(self, nodes: Any, edges: Any, **options: Any) -> Predictions:
        """Return predictions, with probabilities and ids, for nodes that were not there in `fit`.

        `nodes` and `edges` are files or data frames like those that the training data was read
        from; an edge may name new and known ids. See `Run.predict_new`.
        """
        check_is_fitted(self)
        return self.run_.predict_new(nodes, edges, **options)

    def predict_proba(
        self,
        X: Any = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the ensemble's probabilities at the fitted temperature; [n, c]."""
        return self.ensemble(X, edges=edges, edge_weight=edge_weight).probabilities

    def predict_set(
        self,
        X: Any = None,
        coverage: float = 0.9,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
        **options: Any,
    ) -> NDArray[np.bool_]:
        """Return which classes fit each node, the true one in `coverage` of the rows; [n, c].

        The columns are those of `predict_proba`. The options are those of
        `agnn.decisions.calibrate_sets`: `score`, `by_class`, `calibrate_on`. It needs cross-fitting
        (`split="cross-fit"`), or test nodes that calibrate (`calibrate_on="test"`).
        """
        check_is_fitted(self)
        rule = calibrate_sets(self.run_, coverage, **options)
        return rule.predict(self._nodes(X, edges, edge_weight)).is_member

    def predict_novelty(
        self,
        X: Any = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
        calibrate_on: str | Sequence[Hashable] | None = None,
    ) -> NDArray[np.float64]:
        """Return p-values of the nodes being like the labelled ones; [n].

        Calling those novel that have at most 0.05 raises false alarms at 5 % of ordinary nodes.
        """
        check_is_fitted(self)
        rule = calibrate_novelty(self.run_, calibrate_on=calibrate_on)
        return rule.predict(self._nodes(X, edges, edge_weight)).p_values

    def disagreement(
        self,
        X: Any = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the share of replicas whose prediction differs from the ensemble's; [n]."""
        return self.ensemble(X, edges=edges, edge_weight=edge_weight).disagreement

    def ensemble(
        self,
        X: Any = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
    ) -> Ensemble:
        """Return probabilities, predicted classes and disagreement at once."""
        check_is_fitted(self)
        return self.run_.ensemble_of(self._scores(X, edges, edge_weight))

    def explain(self, node: Hashable, *, limit: int = 10) -> Any:
        """Return the reasons for the prediction of a node of the training data, given by its id.

        In a notebook the result shows a paragraph, a picture of the neighbourhood and a table. At
        most `limit` neighbours and features are listed.
        """
        check_is_fitted(self)
        return self.run_.explain(node, limit=limit)

    def score(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        edges: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of correct predictions, from 0 to 1; `accuracy_` is in percent.

        Without `y`: on the training data, of its test nodes, each predicted by the replicas that
        have it for test; on other NodeData, of the nodes that have a label there.
        """
        from sklearn.metrics import accuracy_score

        check_is_fitted(self)
        if y is None:
            if X is None or (isinstance(X, NodeData) and self.run_.is_trained_on(X)):
                return self.calibration_.accuracy / 100.0
            if not isinstance(X, NodeData):
                raise InputError("`y` is missing: the true classes of `X`.")
            labelled = X.labelled
            # By name: the other data may number the classes in another order.
            true = np.array(X.class_names, dtype=object)[X.labels[labelled]]
            names = np.array(self.run_.data.class_names, dtype=object)
            predicted = names[self.ensemble(X).answers[labelled]]
            return float(accuracy_score(true, predicted, sample_weight=sample_weight))
        predicted = self.predict(X, edges=edges, edge_weight=edge_weight)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    @property
    def accuracy_(self) -> Summary:
        """Percent of test nodes for each replica, or trial."""
        return self.run_.accuracy

    @property
    def calibration_(self) -> Calibration:
        """The ensemble's temperature, accuracy and calibration error."""
        return self.run_.calibration

    def save(self, folder: Path | str) -> None:
        """Write the fitted classifier to a new folder of JSON, arrays and safetensors."""
        check_is_fitted(self)
        arguments = {
            "classes": self.classes_.tolist(),
            "dtype": self.classes_.dtype.str,
            "replicas": self.replicas,
            "seed": self.seed,
            "by_index": self.graph is not None,
        }
        self.run_.save(folder, notes={**(self.run_.notes or {}), _NOTES: arguments})

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        device: str = "auto",
        backend: str = "auto",
        trust_unchecked: bool = False,
    ) -> Self:
        """Return the classifier in a folder that `save` or `agnn train --out` wrote; runs no code.

        Its `method` is the trained one, with all its hyper-parameters. For `trust_unchecked` see
        `agnn.load_run`.
        """
        run = load_run(folder, device=device, backend=backend, trust_unchecked=trust_unchecked)
        saved = (run.notes or {}).get(_NOTES, {})
        classifier = cls(
            run.method,
            replicas=saved.get("replicas", run.replicas // run.folds),
            split=run.split_spec,
            seed=saved.get("seed", run.seeds[0]),
            class_weight=run.class_weight,
            metric=run.metric,
            device=device,
            backend=backend,
            graph=run.data if saved.get("by_index") else None,
        )
        classifier.run_ = run
        classifier.n_features_in_ = run.data.feature_count
        classifier.classes_ = run.data.class_values
        if saved:
            classifier.classes_ = np.array(saved["classes"], dtype=saved["dtype"])
        return classifier

    def _training_data(
        self,
        X: Any,
        y: ArrayLike | None,
        edges: ArrayLike | None,
        edge_weight: ArrayLike | None,
    ) -> NodeData:
        """Return the data to train on; sets what is known of the input."""
        if isinstance(X, NodeData):
            if y is not None or edges is not None or edge_weight is not None:
                raise InputError(
                    "a NodeData holds its own labels and edges; leave out `y`, `edges` and "
                    "`edge_weight`."
                )
            self.classes_ = X.class_values
            self.n_features_in_ = X.feature_count
            return X
        if y is None:
            raise InputError("NodeClassifier requires y to be passed, but the target y is None.")
        if self.graph is not None:
            if edge_weight is not None:
                raise InputError("`graph` has its own edges; leave out `edge_weight`.")
            nodes = positions(X, self.graph)
            labels = class_labels(y)
            self.classes_ = labels.classes
            self.n_features_in_ = 1
            return labelled_at(self.graph, nodes, labels)
        features = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
        labels = class_labels(y)
        if labels.codes.size != features.shape[0]:
            raise InputError(
                f"`X` has {features.shape[0]} rows, but `y` has {labels.codes.size} labels."
            )
        self.classes_ = labels.classes
        return graph_of_arrays(features, edges, labels, edge_weight=edge_weight)

    def _scores(self, X: Any, edges: ArrayLike | None, edge_weight: ArrayLike | None) -> Tensor:
        """Return every replica's probabilities at the nodes that `X` means; [R, n, c]."""
        target = self._target(X, edges, edge_weight)
        if isinstance(target, NodeData):
            return self.run_.scores_on(target)
        return self.run_.scores if X is None else self.run_.scores[:, target]

    def _nodes(self, X: Any, edges: ArrayLike | None, edge_weight: ArrayLike | None) -> AskedNodes:
        """Return the nodes that `X` means, for a decision."""
        target = self._target(X, edges, edge_weight)
        if isinstance(target, NodeData):
            return AskedNodes.of_graph(self.run_, target)
        ids = self.run_.data.node_ids
        return AskedNodes.known(self.run_, None if X is None else [ids[node] for node in target])

    def _target(
        self, X: Any, edges: ArrayLike | None, edge_weight: ArrayLike | None
    ) -> NodeData | NDArray[np.int64]:
        """Return the graph that `X` means, or the indices of nodes of the training data."""
        if X is None:
            return np.arange(self.run_.data.nodes)
        if isinstance(X, NodeData):
            return X
        if self.graph is not None:
            return positions(X, self.graph)
        if edges is None and (ids := ids_in(X)) is not None:
            return np.array([self.run_.node(node_id) for node_id in ids], dtype=np.int64)
        features = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return graph_of_arrays(features, edges, edge_weight=edge_weight)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: scikit-learn's box and, once fitted, the result."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        run = vars(self).get("run_")
        if run is not None and "text/html" in bundle:
            bundle["text/html"] += run._repr_html_()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
