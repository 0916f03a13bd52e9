"""NodeClassifier: any method of the package behind scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from agnn.data import NodeData, Split, check_learnable, default_split
from agnn.errors import InputError
from agnn.estimator.class_labels import class_labels
from agnn.estimator.graph_inputs import graph_of_arrays, labelled_at, names_of, positions
from agnn.estimator.kept_run import kept_run
from agnn.estimator.new_scores import new_scores
from agnn.explanation import OpenedRun, as_opened
from agnn.metrics import Calibration, Ensemble, Summary, ensemble_of
from agnn.runs import Run, evaluate, replica_seeds, save_run, suited_method

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from agnn.report import ShownExplanation

_FIELDS = ("epochs", "layers", "hidden", "learning_rate", "weight_decay", "dropout")


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Replicas of a method, trained together, that answer as one.

    `fit` takes a NodeData, or features `X` [n, d_x], labels `y` [n] (-1, NaN, None or "" where
    there is none) and `edges` [2, k]; with `graph` set, `X` are indices of its nodes and `y` their
    labels, so that grid searches and cross-validation go over nodes. Part of the labelled nodes
    choose the epoch and the temperature, and part measure the accuracy: see `split`.

    Args:
        method: the name of a registered method; see `agnn.method_names()`.
        replicas: how many models make the ensemble; with a k-fold `split`, k times as many.
        split: a split's name as in `agnn train`, or a Split; None: as the data came, else
            "stratified", and folds where labels are few.
        seed: the first replica's seed; the others count on from it.
        class_weight: None, "balanced", or a weight for each class.
        device: "auto", "cpu" or "cuda".
        backend: "auto", "reference", "numba" or "triton".
        epochs, layers, hidden, learning_rate, weight_decay, dropout: hyper-parameters; None
            leaves the method's own, which are the paper's where it has them for the data.
        parameters: further hyper-parameters of the method, by name.
        graph: the graph that indices `X` point into.

    Attributes:
        classes_: [c] the classes; the names in a NodeData, else the values of `y`.
        run_: the run behind it all: splits, seeds, model, scores.
        accuracy_: percent of test nodes for each replica (with folds, each trial), with its mean
            and standard error.
        calibration_: the ensemble on test nodes: accuracy, temperature, calibration error.
    """

    def __init__(
        self,
        method: str = "agnn",
        *,
        replicas: int = 10,
        split: str | Split | None = None,
        seed: int = 0,
        class_weight: str | Mapping[Any, float] | None = None,
        device: str = "auto",
        backend: str = "auto",
        epochs: int | None = None,
        layers: int | None = None,
        hidden: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        dropout: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        graph: NodeData | None = None,
    ) -> None:
        self.method = method
        self.replicas = replicas
        self.split = split
        self.seed = seed
        self.class_weight = class_weight
        self.device = device
        self.backend = backend
        self.epochs = epochs
        self.layers = layers
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.parameters = parameters
        self.graph = graph

    def fit(self, X: Any, y: ArrayLike | None = None, *, edges: ArrayLike | None = None) -> Self:
        """Train on the labelled nodes; the others take part as neighbours."""
        data = self._training_data(X, y, edges)
        check_learnable(data)
        spec = self.split
        if isinstance(spec, Split):
            data, spec = data.with_split(spec), spec.name
        spec = spec or default_split(data)
        fields = {name: getattr(self, name) for name in _FIELDS} | dict(self.parameters or {})
        method = suited_method(self.method, spec, data).with_fields(**fields)
        weight: Any = self.class_weight
        if isinstance(weight, Mapping):
            weight = {str(name): value for name, value in weight.items()}
        self.run_: Run = evaluate(
            method, data, spec, replica_seeds(self.seed, self.replicas), device=self.device,
            backend=self.backend, class_weight=weight,
        )  # fmt: skip
        return self

    def predict(self, X: Any = None, *, edges: ArrayLike | None = None) -> NDArray[Any]:
        """[n] The class of every node of `X`, as in `classes_`; without `X`, of the training data.

        `X` is a NodeData, such as the old graph with new nodes in it, or what `fit` took.
        """
        answers = self.ensemble(X, edges=edges).answers
        return np.asarray(self.classes_[answers])

    def predict_proba(
        self, X: Any = None, *, edges: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """[n, c] The ensemble's probabilities at the fitted temperature."""
        return self.ensemble(X, edges=edges).probabilities

    def disagreement(self, X: Any = None, *, edges: ArrayLike | None = None) -> NDArray[np.float64]:
        """[n] The share of replicas whose own answer is not the ensemble's."""
        return self.ensemble(X, edges=edges).disagreement

    def ensemble(self, X: Any = None, *, edges: ArrayLike | None = None) -> Ensemble:
        """Probabilities, answers and disagreement at once."""
        check_is_fitted(self)
        return ensemble_of(self._scores(X, edges), self.calibration_.temperature)

    def explain(self, node: Hashable, *, limit: int = 10) -> ShownExplanation:
        """Why a node of the training data, named by its id, is answered as it is.

        In a notebook the result shows itself: a paragraph, a picture of the neighbourhood and a
        table. At most `limit` neighbours and features are listed. For AGNN, GCN and GLN.
        """
        from agnn.report import shown_explanation

        check_is_fitted(self)
        opened = self._opened()
        return shown_explanation(opened, opened.node(node), limit=limit)

    def score(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        edges: ArrayLike | None = None,
    ) -> float:
        """The share of right answers.

        Without `y`: on the training data, of its test nodes, each answered by the replicas that
        have it for test; on other NodeData, of the nodes that have a label there.
        """
        from sklearn.metrics import accuracy_score

        check_is_fitted(self)
        if y is None:
            if X is None or (isinstance(X, NodeData) and self._is_training_data(X)):
                return self.calibration_.accuracy / 100.0
            if not isinstance(X, NodeData):
                raise InputError("`y` is missing: it holds the right answers for `X`.")
            known = X.labelled
            right = np.array(X.class_names, dtype=object)[X.labels[known]]
            given = np.array(names_of(self.predict(X)[known]), dtype=object)
            return float(accuracy_score(right, given, sample_weight=sample_weight))
        return float(accuracy_score(y, self.predict(X, edges=edges), sample_weight=sample_weight))

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
        notes = {
            "classes": self.classes_.tolist(),
            "dtype": self.classes_.dtype.str,
            "replicas": self.replicas,
            "seed": self.seed,
            "by_index": self.graph is not None,
        }
        save_run(self.run_, folder, notes=notes)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto", backend: str = "auto") -> Self:
        """The classifier in a folder that `save` or `agnn train --out` wrote; no code is run."""
        run, notes = kept_run(folder, device, backend)
        said = notes or {}
        made = cls(
            run.method.name,
            replicas=said.get("replicas", len(run.accuracy.values)),
            split=run.split_spec,
            seed=said.get("seed", run.seeds[0]),
            class_weight=run.class_weight,
            device=device,
            backend=backend,
            parameters=run.method.settings,
            graph=run.data if said.get("by_index") else None,
        )
        made.run_ = run
        made.n_features_in_ = run.data.feature_count
        names = np.array(run.data.class_names, dtype=object)
        made.classes_ = np.array(said["classes"], dtype=said["dtype"]) if said else names
        return made

    def _training_data(self, X: Any, y: ArrayLike | None, edges: ArrayLike | None) -> NodeData:
        """The data to train on; sets what is known of the input."""
        if isinstance(X, NodeData):
            if y is not None or edges is not None:
                raise InputError(
                    "a NodeData holds its own labels and edges; leave `y` and `edges`."
                )
            self.classes_ = np.array(X.class_names, dtype=object)
            self.n_features_in_ = X.feature_count
            return X
        if y is None:
            raise InputError("NodeClassifier requires y to be passed, but the target y is None.")
        if self.graph is not None:
            nodes = positions(X, self.graph)
            labels = class_labels(y)
            self.classes_, self.n_features_in_ = labels.classes, 1
            return labelled_at(self.graph, nodes, labels)
        features = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
        labels = class_labels(y)
        if labels.codes.size != features.shape[0]:
            raise InputError(
                f"`X` has {features.shape[0]} rows, but `y` has {labels.codes.size} labels."
            )
        self.classes_ = labels.classes
        return graph_of_arrays(features, edges, labels)

    def _scores(self, X: Any, edges: ArrayLike | None) -> Tensor:
        """Every replica's probabilities at the nodes that `X` means; [R, n, c]."""
        scores = self.run_.outcome.scores
        if X is None:
            return scores
        if not isinstance(X, NodeData):
            if self.graph is not None:
                return scores[:, positions(X, self.graph)]
            features = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
            X = graph_of_arrays(features, edges, row_normalised=self.run_.data.row_normalised)
        elif self._is_training_data(X):
            return scores
        return new_scores(self.run_, X)

    def _opened(self) -> OpenedRun:
        """The run, ready to be asked; made once, so that a second question costs its answer."""
        run, opened = getattr(self, "_opened_run", (None, None))
        if opened is None or run is not self.run_:
            opened = as_opened(self.run_)
            self._opened_run: tuple[Run, OpenedRun] = (self.run_, opened)
        return opened

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: not what can be made again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_opened_run"}

    def _is_training_data(self, data: NodeData) -> bool:
        own = self.run_.data
        return data is own or data.fingerprint == own.fingerprint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
