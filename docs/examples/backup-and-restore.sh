#!/bin/sh
# A backup, the loss of the data folder, and a restore. Run it in an empty folder, with `sallyport` on the PATH.
set -eu

sallyport init --data data --json
sallyport event-type create --name order.created --data data
sallyport backup backup.db --data data
# The master key is not part of the backup. Without it, nobody can read the secrets in there.
mkdir -m 0700 safe
cp data/master.key safe/

rm -r data

mkdir -m 0700 data
cp safe/master.key data/
sallyport restore backup.db --data data
sallyport doctor --data data
sallyport event-type list --data data
