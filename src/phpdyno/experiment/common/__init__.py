"""What a comparison and a sweep share: one slot, driving an instance, equal answers, warm-up."""
