import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const FOLDER = fileURLToPath(new URL('../../deploy/kubernetes/', import.meta.url))
export const OVERLAYS = ['try', 'production'] as const

/** The files that a user creates before the first apply. */
export const SECRETS = {
  queue: 'redis://:secret@redis:6379',
  store: 'postgres://shoal:secret@postgres:5432/shoal',
  token: '0123456789abcdef',
  'redis.conf': 'requirepass secret',
  postgres_password: 'secret',
}

/** A copy of deploy/kubernetes with secrets in every overlay; the caller removes it. */
export function copyWithSecrets(secrets: Readonly<Record<string, string>> = SECRETS): string {
  const copy = mkdtempSync(join(tmpdir(), 'shoal-manifests-'))
  cpSync(FOLDER, copy, { recursive: true })
  for (const overlay of OVERLAYS) {
    const folder = join(copy, 'overlays', overlay, 'secrets')
    mkdirSync(folder, { recursive: true })
    for (const [name, value] of Object.entries(secrets)) writeFileSync(join(folder, name), value)
  }
  return copy
}
