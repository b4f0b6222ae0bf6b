"""The bottle: the mount, network, PID and IPC namespaces in which all that is measured lives."""
