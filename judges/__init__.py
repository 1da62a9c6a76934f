"""Programs that judge the product by what others compute: they take minutes to hours, and no test runs them whole."""
