"""Do networks that are built to bind really bind? Trainings, measurements and the table of the study."""
