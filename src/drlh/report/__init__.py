"""Run records → tables, pictures, pages."""
