import type { Socket } from 'node:net'

/** More than any proxy needs to say before the tunnel is open. */
const MOST_BYTES = 16_384

/**
 * Reads from a socket until `parse` has a result; undefined means that it needs more. The bytes it used must be all there are, because in a tunnel
 * nobody sends before we do. Nothing is read from the socket afterwards.
 */
export function readUntil<Answer>(
  socket: Socket,
  parse: (bytes: Buffer) => Parsed<Answer> | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const stop = () => {
      socket.off('readable', read).off('end', ended).off('close', ended).off('error', failed)
    }
    const failed = (error: Error) => {
      stop()
      reject(error)
    }
    const ended = () => failed(new Error('it closed the connection'))
    const read = () => {
      for (let piece = socket.read(); piece !== null; piece = socket.read()) bytes = Buffer.concat([bytes, piece])
      try {
        const parsed = parse(bytes)
        if (parsed === undefined && bytes.length <= MOST_BYTES) return
        if (parsed?.used !== bytes.length) throw new Error('it sent more than expected')
        stop()
        resolve(parsed.answer)
      } catch (error) {
        failed(error as Error)
      }
    }
    socket.on('readable', read).on('end', ended).on('close', ended).on('error', failed)
    if (socket.destroyed) ended()
    else read()
  })
}

export interface Parsed<Answer> {
  readonly answer: Answer
  readonly used: number
}
