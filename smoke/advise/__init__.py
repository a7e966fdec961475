"""`advise`: will the recipe fit, and which recomputation is the cheapest that does?"""
