"""The dashboard: one page that shows which tools fail, whether agents recover, and the details of each failure."""
