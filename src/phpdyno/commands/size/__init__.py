"""`phpdyno size`: how many workers a pool needs: throughput and memory measured, response times
foretold, the answer confirmed."""
