import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the generated reference pages are current', async () => {
  const script = fileURLToPath(new URL('../scripts/generate-docs.js', import.meta.url))
  const check = promisify(execFile)(process.execPath, [script, '--check'])
  await expect(check.catch((error: { stderr: string }) => error.stderr)).resolves.toMatchObject({ stderr: '' })
})
