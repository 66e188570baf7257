/** A connection that carries one request at a time, whichever version of HTTP it uses. */
export interface Wire {
  /** It accepts no further request: it is closed or being closed, or the server broke the rules. */
  readonly isClosing: boolean
  dispatch(request: WireRequest, handler: WireHandler): void
  destroy(): void
}

export interface WireRequest {
  readonly path: string
  readonly method: string
  /** Names and values in turn, names in lower case. */
  readonly headers: readonly string[]
  readonly body: string | null
}

export interface WireHandler {
  /** Just before the request is written. If this throws, nothing is sent and the connection stays as it is. */
  onConnect(abort: () => void): void
  /** The first byte of a response is there. */
  onResponseStarted(): void
  /**
   * Names in lower case and values in turn, one character for each byte. 1xx responses come first, without pairs. `isRequestWritten`: nothing of the
   * request waits in this process any more.
   */
  onHeaderPairs(status: number, pairs: readonly string[], isRequestWritten: boolean): void
  onData(piece: Buffer): void
  onComplete(): void
  onError(error: Error): void
}

/** They describe the connection, which the wire handles itself. */
export const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])
