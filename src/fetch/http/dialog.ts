import type { Socket } from 'node:net'

/** More than any proxy has to say before the tunnel stands. */
const MOST_BYTES = 16_384

/**
 * Reads from a socket until `parse` has an answer; undefined means that it needs more. The bytes it used must be all there are, because
 * in a tunnel nobody speaks before we do. Nothing is read from the socket afterwards.
 */
export function hear<Answer>(socket: Socket, parse: (bytes: Buffer) => Heard<Answer> | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const stop = () => {
      socket.off('readable', read).off('end', ended).off('close', ended).off('error', failed)
    }
    const failed = (error: Error) => {
      stop()
      reject(error)
    }
    const ended = () => failed(new Error('it hung up'))
    const read = () => {
      for (let piece = socket.read(); piece !== null; piece = socket.read()) bytes = Buffer.concat([bytes, piece])
      try {
        const heard = parse(bytes)
        if (heard === undefined && bytes.length <= MOST_BYTES) return
        if (heard?.used !== bytes.length) throw new Error('it said more than it should')
        stop()
        resolve(heard.answer)
      } catch (error) {
        failed(error as Error)
      }
    }
    socket.on('readable', read).on('end', ended).on('close', ended).on('error', failed)
    if (socket.destroyed) ended()
    else read()
  })
}

export interface Heard<Answer> {
  readonly answer: Answer
  readonly used: number
}
