/** Raw pages, content-addressed: the same bytes have the same reference and are stored once. */
export interface BlobStore {
  put(bytes: Uint8Array, type: string): Promise<BlobRef>
  get(ref: BlobRef): Promise<Uint8Array | null>
  close(): Promise<void>
}

/** `sha256:` and 64 hex digits. */
export type BlobRef = string
