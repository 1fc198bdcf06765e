"""The trainer: a Llama on the shards of a build, data parallel. ``run.train`` is the way in.

    run         from a build to a trained model          settings    what decides a run
    rundir      the directory of a run                   launch      starts and watches the ranks
    lifeline    no orphans                               worker      what one rank runs
    loop        the steps of one rank                    step        the compiled step
    model       Llama                                    config      its shapes
    optimizer   AdamW                                    schedule    learning rate
    data        rows in order                            shards      what the manifest says
    checkpoint  published by rename                      metrics, progress

MindSpore is imported by ``model``, ``optimizer``, ``step``, ``data`` and ``loop``; ``worker`` imports them
inside a function.
"""
