print("lagmond")
