const staleSockets = new WeakSet<Error>()

/**
 * True if a kept-alive connection turned out to be closed before the server sent a byte, and the request changes nothing on the server. It is safe to
 * send once more, as a separate request: with a new permit.
 */
export function isStaleSocket(error: unknown): boolean {
  return error instanceof Error && staleSockets.has(error)
}

export function markStaleSocket(error: Error): void {
  staleSockets.add(error)
}
