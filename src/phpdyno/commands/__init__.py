"""Commands of the program, each in a folder of its own: what it looks at, what it does, what it
says. Options and printing are `cli`'s."""
