"""How many workers a pool needs: throughput curve, queue, simulation, memory, caps. Pure; times in
seconds unless a name says ns."""
