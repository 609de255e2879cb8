-- A change that could not be taken back is told of for each fabric: two of them shared one alert, and the first that was well again cleared it.
update alert set key = key || ':' || subject where key = 'switch.undo_failed' and cleared_at is null;
