/**
 * The standard streams of this process, for Shoal's own output. What `process` has once spider code may run are others, which capture what it prints
 * (src/run/output/): they must never mix with results or progress.
 */
export const { stdout, stderr } = process
