"""The catalogue of knobs: one declaration each; its proof is a pure predicate over WorkerFacts."""
