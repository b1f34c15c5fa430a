"""The foundation of all other packages: errors, devices, types, parameters, files, notices. It imports none of them."""
