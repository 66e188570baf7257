import { createHash } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, read, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PIECE_BYTES = 64 * 1024
const readAt = promisify(read)

/**
 * A temporary file without a name. The response of a server or a database is read at once and as fast as it comes, so that no connection or transaction stays
 * open while the queue is full, which may take days; and it need not be kept in memory.
 */
export interface Spool {
  write(piece: Uint8Array): void
  /** Reads what has been written so far. */
  digest(): string
  read(): AsyncGenerator<Buffer>
  close(): void
}

export function createSpool(): Spool {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-'))
  const fd = openSync(join(folder, 'spool'), 'wx+', 0o600)
  // Unlinked from the start, so that a process that is killed leaves nothing behind.
  rmSync(folder, { recursive: true, force: true })
  const hash = createHash('sha256')
  let size = 0
  let open = true
  return {
    write(piece) {
      if (!open) return
      for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at, piece.length - at, size + at)
      size += piece.length
      hash.update(piece)
    },
    digest: () => hash.copy().digest('hex').slice(0, 32),
    async *read() {
      for (let at = 0; open && at < size; ) {
        const { bytesRead, buffer } = await readAt(fd, Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, at)
        if (bytesRead === 0) return
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    },
    close() {
      if (open) closeSync(fd)
      open = false
    },
  }
}
