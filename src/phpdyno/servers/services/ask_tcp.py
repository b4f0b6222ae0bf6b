"""Ask a server one question over TCP: `ask_tcp.py HOST PORT QUESTION EXPECTED` (the last two in
hexadecimal); exit code 0 for that answer.

Standard library only, and run by file name, as the servers' account and in their network.
"""

import socket
import sys


def main() -> None:
    """One attempt."""
    host, port, question, expected = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3]), bytes.fromhex(sys.argv[4])
    said = b""
    try:
        with socket.create_connection((host, port), timeout=2.0) as connection:
            connection.sendall(question)
            while len(said) < len(expected) and (part := connection.recv(1024)):
                said += part
    except OSError:
        sys.exit(1)
    sys.exit(0 if said.startswith(expected) else 1)


if __name__ == "__main__":
    main()
