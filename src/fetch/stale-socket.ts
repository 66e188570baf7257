const staleSockets = new WeakSet<Error>()

/**
 * True when a kept connection turned out to be closed before the server answered a byte, and the request changes nothing on the
 * server. It is safe to ask once more, as a request of its own: with a new permit.
 */
export function isStaleSocket(error: unknown): boolean {
  return error instanceof Error && staleSockets.has(error)
}

export function markStaleSocket(error: Error): void {
  staleSockets.add(error)
}
