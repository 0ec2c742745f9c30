"""What a lesson imports: plots, data, stand-ins and loaders. Students have all of it."""
