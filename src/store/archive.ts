/** Where rows go that leave the store for good. */
export interface Archive {
  /** Writes a file of these rows; it is there, whole, when it resolves. An older one of that name is replaced: it holds the same rows. Where it is. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<string>
  close(): Promise<void>
}
