"""A club that broke in two: friendships alone, six known members, no features at all."""

import networkx as nx

from agnn import evaluate, from_networkx

club = nx.karate_club_graph()  # 34 members, by Zachary (1977); ships with NetworkX
KNOWN = (0, 1, 7, 26, 32, 33)  # whose side we are told
sides = nx.get_node_attributes(club, "club")
for member in club:
    club.nodes[member]["side"] = sides[member] if member in KNOWN else None
    del club.nodes[member]["club"]

data = from_networkx(club, label="side", ignore_weights=True)
run = evaluate("agnn", data, replicas=3, changes={"epochs": 100})
predictions = run.predict().unlabelled()
right = sum(
    side == sides[member] for member, side in zip(predictions.ids, predictions.classes, strict=True)
)
print(f"{right} of {len(predictions)} members that we know nothing of are on the side predicted")

suspect = 8  # between the sides
print(run.explain(suspect).in_words())
