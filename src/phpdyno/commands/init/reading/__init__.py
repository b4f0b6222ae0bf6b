"""What a directory tells of its app: the framework, its configuration, its pages."""
