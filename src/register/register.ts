/**
 * 'shoal/register': `node --import shoal/register --test` runs test files in TypeScript on every version of Node that Shoal supports, loaded as
 * `shoal run` loads a spider. Node 20 has no TypeScript of its own, and this needs no other package.
 */
import { register } from 'node:module'

register('./typescript-hooks.js', import.meta.url)
