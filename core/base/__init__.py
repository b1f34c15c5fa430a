"""What everything stands on: errors, devices, types, parameters, files, notices. It knows nothing of the rest."""
