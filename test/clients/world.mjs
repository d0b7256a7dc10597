// A fresh working directory with known files, and the configuration of the
// server that works in it.

import { mkdtemp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Site } from './site.mjs';

// A PNG image of one pixel.
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export class World {
  // create makes a directory and writes the configuration: `settings` over a
  // working directory. JSON is YAML, so it needs no writer of its own.
  static async create(settings = {}) {
    const world = new World();
    world.root = await mkdtemp(join(realpathSync(tmpdir()), 'toolserver-clients-'));
    world.work = join(world.root, 'work');
    world.config = join(world.root, 'toolserver.yaml');
    world.env = {
      PATH: process.env.PATH,
      HOME: world.root,
      XDG_CONFIG_HOME: join(world.root, 'config'),
      XDG_STATE_HOME: join(world.root, 'state'),
      XDG_CACHE_HOME: join(world.root, 'cache'),
    };
    await mkdir(join(world.work, 'sub'), { recursive: true });
    await world.write('notes.txt', 'alpha\nbeta\ngamma\n');
    await world.write('sub/deep.txt', 'gamma ray\n');
    await world.write('pixel.png', Buffer.from(PIXEL, 'base64'));
    world.site = await Site.start();
    await world.configure(settings);
    return world;
  }

  // configure replaces the configuration. A server that runs takes it over.
  async configure(settings) {
    const config = {
      working_directory: this.work,
      sandbox: { private_hosts: [this.site.host] }, linkedin: { base_url: this.site.url, interval: '0s' },
      ...settings,
    };
    await writeFile(`${this.config}.next`, JSON.stringify(config, null, 2));
    await rename(`${this.config}.next`, this.config);
  }

  path(name) {
    return join(this.work, name);
  }

  write(name, content) {
    return writeFile(this.path(name), content);
  }

  read(name) {
    return readFile(this.path(name), 'utf8');
  }

  async remove() {
    await this.site.stop();
    await rm(this.root, { recursive: true, force: true });
  }
}
