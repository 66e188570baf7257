import { open } from 'node:fs/promises'

/** So that a new name in it outlives a power cut; some systems cannot. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
