"""`python -m benchmarks.embedding`: DeepWalk's walks and training on PubMed against gensim's.

Both in one process on one thread, in turn, with the settings of the DeepWalk program (10 walks of
40 nodes, 64 numbers, window 5, hierarchical softmax, one pass). Ours is timed from the graph to the
vectors; gensim's Word2Vec is handed our walks as lists of words, so its time is training alone.
Times are processor time, which other programs on the machine disturb less than the wall clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch
from rich.console import Console

from agnn.data import load_dataset
from agnn.graph import Graph, Walks
from agnn.kernels import Descent, hierarchical_skip_gram, random_walks


def main() -> None:
    """Print the median time of each and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--walks", type=int, default=10, help="walks from every node")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = load_dataset("pubmed")
    graph, walks = Graph.from_edges(data.edges, data.nodes), Walks(options.walks, 40)
    sentences = [[str(node) for node in walk] for walk in random_walks(graph, walks, 0).tolist()]

    def ours() -> None:
        found = random_walks(graph, walks, 0)
        hierarchical_skip_gram(found, data.nodes, Descent(64), 5, 1, 0)

    def gensims() -> None:
        from gensim.models import Word2Vec

        Word2Vec(
            sentences, vector_size=64, window=5, min_count=0, sg=1, hs=1, negative=0, workers=1,
            epochs=1,
        )  # fmt: skip

    # Compiled before the clock starts.
    hierarchical_skip_gram(random_walks(graph, Walks(1, 2), 0), data.nodes, Descent(64), 5, 1, 0)
    rounds = [(seconds(ours), seconds(gensims)) for _ in range(options.rounds)]
    own, peer = (median(times) for times in zip(*rounds, strict=True))
    Console().print(
        f"walks and training {own:.1f} s, gensim's training alone {peer:.1f} s: "
        f"{peer / own:.1f} times faster (processor time, median of {options.rounds})"
    )


def seconds(work: Callable[[], None]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
