"""MariaDB as an app's private database, and questions to one that runs."""
