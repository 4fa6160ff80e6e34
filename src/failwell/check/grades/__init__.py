"""Grades: what makes a failure a good one. Each is a row with its weight and its reason, judged without I/O."""

from failwell.check.grades.table import GRADES, Grade, graded

__all__ = ["GRADES", "Grade", "graded"]
