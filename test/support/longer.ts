/** How many times as long as usual the random tests run. `npm run test:long` says 10. */
export const LONGER = Number(process.env.SHOAL_TEST_LONGER ?? 1)

/** Runs of a property: `usual` in `npm test`, which is enough to kill the mutants; more in `npm run test:long`. */
export function runs(usual: number): number {
  return usual * LONGER
}
