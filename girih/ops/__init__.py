"""The specifications of girih's languages, one room for each: `tile` is the tensor language."""
