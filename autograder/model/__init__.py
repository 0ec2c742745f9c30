"""Plain typed data that every other package imports: lessons, checks, mistakes, outcomes, reports."""
