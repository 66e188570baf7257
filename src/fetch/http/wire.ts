import type { Dispatcher } from 'undici'

/** A connection that carries one request at a time, whichever version of HTTP it uses. undici's Client is one. */
export interface Wire {
  dispatch(request: WireRequest, handler: WireHandler): unknown
  destroy(): Promise<void>
}

export interface WireRequest {
  readonly path: string
  readonly method: string
  /** Names and values in turn, names in lower case. */
  readonly headers: string[]
  readonly body: string | null
}

/** As undici calls it, and for HTTP/2 the headers as text. */
export interface WireHandler extends Dispatcher.DispatchHandler {
  onConnect(abort: () => void): void
  onHeaderPairs(status: number, pairs: readonly string[]): void
  onData(piece: Buffer): boolean
  onComplete(): void
  onError(error: Error): void
}
