/** CPU time of this process for a piece of work, in ms. It may throw: an error is an answer, too, if it comes in time. */
export function cpuMs(work: () => void, onError: (error: unknown) => void = () => {}): number {
  const before = process.cpuUsage()
  try {
    work()
  } catch (error) {
    onError(error)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
