/** Bounds that several files of this folder share. */

/** How often the partitions of the next weeks are made, where the database needs them. */
export const PARTITIONS_EVERY_MS = 3_600_000;
export const HOUSEKEEPING_LOOK_MS = 1000;
