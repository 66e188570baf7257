import { createHash } from 'node:crypto'
import type { BlobRef, BlobStore } from '../blob-store.js'

/** Raw pages for as long as the process lives. */
export class MemoryBlobStore implements BlobStore {
  readonly maintenance = null
  readonly #blobs = new Map<BlobRef, Uint8Array>()

  async ready(): Promise<void> {}

  hurry(): void {}

  async put(bytes: Uint8Array): Promise<BlobRef> {
    const ref = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    this.#blobs.set(ref, new Uint8Array(bytes))
    return ref
  }

  async get(ref: BlobRef): Promise<Uint8Array | null> {
    return this.#blobs.get(ref) ?? null
  }

  async has(ref: BlobRef): Promise<boolean> {
    return this.#blobs.has(ref)
  }

  async locate(): Promise<null> {
    return null
  }

  async close(): Promise<void> {}
}
