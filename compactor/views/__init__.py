"""Read-only looks at a session, one a file: values in, JSON objects or text out; pure."""
