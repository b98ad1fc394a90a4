"""The outermost package, above `compactor`: today it only puts the console program together."""
