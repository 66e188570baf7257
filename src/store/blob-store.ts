/** Raw pages, content-addressed: the same bytes have the same reference and are stored once. */
export interface BlobStore {
  put(bytes: Uint8Array, type: string): Promise<BlobRef>
  get(ref: BlobRef): Promise<Uint8Array | null>
  /** Where a person finds the stored bytes, packed as they are; null when they are not there, or in no place with a name. */
  locate(ref: BlobRef): Promise<string | null>
  close(): Promise<void>
}

/** `sha256:` and 64 hex digits. */
export type BlobRef = string
