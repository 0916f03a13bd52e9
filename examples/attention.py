"""Which neighbours a paper attends to, layer by layer, in the dataset's own ids."""

from agnn import evaluate, load_dataset, preset_method
from agnn.graph import Graph, SparseFeatures, View

cora = load_dataset("cora")
run = evaluate(preset_method("agnn", "fixed", "cora").with_fields(epochs=200), cora)
model = run.model

graph = Graph.from_edges(cora.edges, cora.nodes)
features = SparseFeatures.from_scipy(cora.scaled_features("sum"))
attentions = model.attentions(View.whole(features, graph, model.hops))

paper = cora.node_ids.index("1110563")
first, last = graph.offsets[paper : paper + 2].tolist()
for layer, attention in enumerate(attentions, start=1):
    print(f"layer {layer}: to itself {attention.loops[0, paper]:.3f}")
    for edge in range(first, last):
        neighbour = int(graph.columns[edge])
        name = cora.class_names[cora.labels[neighbour]]
        print(f"  {attention.edges[0, edge]:.3f} from {cora.node_ids[neighbour]} ({name})")
