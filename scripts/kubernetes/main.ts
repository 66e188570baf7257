import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { manifestFiles } from './files.js'

/** `npm run manifests`: writes deploy/kubernetes. A test compares the files with the objects. */
const FOLDER = fileURLToPath(new URL('../../deploy/kubernetes/', import.meta.url))

const files = manifestFiles()
for (const [path, text] of files) {
  mkdirSync(dirname(join(FOLDER, path)), { recursive: true })
  writeFileSync(join(FOLDER, path), text)
}
console.log(`deploy/kubernetes: ${files.size} files written`)
